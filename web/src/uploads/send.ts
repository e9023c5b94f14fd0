import { DetailedError, Upload } from "tus-js-client";
import { authorised, lost } from "../api/auth";
import { refusalOf, type Refusal } from "../api/client";

const PIECE = 64 * 1_048_576; // bytes of one request

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

/** Sends what is missing of it, by the tus protocol. Throws `Refused`, `Stopped`, or what stands for "try again". */
export function send(data: Blob, sending: Sending): Promise<void> {
  const { stop } = sending;
  return new Promise((done, failed) => {
    if (stop.aborted) {
      failed(new Stopped());
      return;
    }
    const upload = new Upload(data, {
      endpoint: sending.endpoint,
      uploadUrl: sending.url || null,
      metadata: sending.metadata,
      chunkSize: PIECE,
      // Waiting and trying again is the queue's part: it knows of all the others.
      retryDelays: null,
      storeFingerprintForResuming: false,
      uploadDataDuringCreation: true,
      onBeforeRequest(request) {
        const headers = new Headers();
        authorised(headers, request.getMethod());
        headers.forEach((value, name) => request.setHeader(name, value));
      },
      onUploadUrlAvailable: () => sending.begun(upload.url ?? ""),
      onProgress: sending.progress,
      onSuccess: () => {
        stop.removeEventListener("abort", abort);
        done();
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
  const fresh = error instanceof DetailedError && error.originalRequest?.getMethod() === "POST";
  // 409 while sending: the server has more or less of it than was thought; beginning with 409 is a refusal.
  if (answer === null || status >= 500 !== (status === 507) || (PASSING.includes(status) && !(status === 409 && fresh))) return error;
  return new Refused(await refusalOf(new Response(answer.getBody(), { status })));
}

/** Tells the server that nobody will send the rest. */
export async function withdraw(url: string): Promise<void> {
  const headers = new Headers({ "Tus-Resumable": "1.0.0" });
  authorised(headers, "DELETE");
  await fetch(url, { method: "DELETE", headers }).catch(() => undefined);
}
