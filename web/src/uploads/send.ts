import { DetailedError, Upload } from "tus-js-client";
import { authorised, lost } from "../api/auth";
import { refusalOf, type Refusal } from "../api/client";

const PIECE = 64 * 1_048_576; // bytes of one request
const AT_ONCE = 1_048_576; // bytes that go with the first request

export interface Sending {
  endpoint: string;
  metadata: Record<string, string>;
  /** Of the same upload, begun before. */
  url: string;
  begun: (url: string) => void;
  progress: (bytes: number) => void;
  stop: AbortSignal;
}

/** The server's answer says no: sending the same again would not help. */
export class Refused extends Error {
  constructor(readonly refusal: Refusal) {
    super(refusal.message);
  }
}

export class Stopped extends Error {}

/** The server does not know an upload that was begun: it is complete, or was given up long ago. */
export class Gone extends Error {}

/** Sends what is missing of it, by the tus protocol, and returns the server's last word (of an archive, the
 * operation that unpacks it). Throws `Refused`, `Stopped`, `Gone`, or what stands for "try again". */
export function send(data: Blob, sending: Sending): Promise<string> {
  const { stop } = sending;
  return new Promise((done, failed) => {
    if (stop.aborted) {
      failed(new Stopped());
      return;
    }
    const upload = new Upload(data, {
      // Not both: an upload that is gone may be complete, and must not be sent again unseen.
      endpoint: sending.url === "" ? sending.endpoint : null,
      uploadUrl: sending.url || null,
      metadata: sending.metadata,
      chunkSize: PIECE,
      // Waiting and trying again is the queue's part: it knows of all the others.
      retryDelays: null,
      storeFingerprintForResuming: false,
      // The address of an upload comes with the answer: of a large one it must be known before its bytes are sent.
      uploadDataDuringCreation: data.size < AT_ONCE,
      onBeforeRequest(request) {
        const headers = new Headers();
        authorised(headers, request.getMethod());
        headers.forEach((value, name) => request.setHeader(name, value));
      },
      onUploadUrlAvailable: () => sending.begun(upload.url ?? ""),
      onProgress: sending.progress,
      onSuccess: ({ lastResponse }) => {
        stop.removeEventListener("abort", abort);
        done(lastResponse.getHeader("Danlu-Operation") ?? "");
      },
      onError: (error) => {
        stop.removeEventListener("abort", abort);
        void reason(error).then(failed);
      },
    });
    const abort = () => {
      void upload.abort().catch(() => undefined);
      failed(new Stopped());
    };
    stop.addEventListener("abort", abort, { once: true });
    upload.start();
  });
}

/** Whether it is worth to send it again: the connection, a server that restarts, another request that still runs. */
const PASSING = [0, 401, 408, 409, 423, 425, 429, 460];

async function reason(error: Error): Promise<Error> {
  const answer = error instanceof DetailedError ? error.originalResponse : null;
  const status = answer?.getStatus() ?? 0;
  if (status === 401) lost();
  const method = error instanceof DetailedError ? error.originalRequest?.getMethod() : "";
  if ((method === "HEAD" || method === "PATCH") && (status === 404 || status === 410)) return new Gone();
  const fresh = method === "POST";
  // 409 while sending: the server has more or less of it than was thought; beginning with 409 is a refusal.
  if (answer === null || status >= 500 !== (status === 507) || (PASSING.includes(status) && !(status === 409 && fresh))) return error;
  return new Refused(await refusalOf(new Response(answer.getBody(), { status })));
}

/** All of an archive is there, but not its unpacking: the answer was lost, or the server restarted. */
export async function finishBundle(url: string, size: number): Promise<string> {
  const headers = new Headers({ "Tus-Resumable": "1.0.0", "Upload-Offset": String(size), "Content-Type": "application/offset+octet-stream" });
  authorised(headers, "PATCH");
  const answer = await fetch(url, { method: "PATCH", headers, body: new Blob([]) });
  if (answer.status === 404) throw new Gone();
  if (!answer.ok) throw PASSING.includes(answer.status) || answer.status >= 500 ? new Error() : new Refused(await refusalOf(answer));
  return answer.headers.get("Danlu-Operation") ?? "";
}

/** Tells the server that nobody will send the rest. */
export async function withdraw(url: string): Promise<void> {
  const headers = new Headers({ "Tus-Resumable": "1.0.0" });
  authorised(headers, "DELETE");
  await fetch(url, { method: "DELETE", headers }).catch(() => undefined);
}
