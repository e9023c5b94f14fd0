import createClient, { type Middleware } from "openapi-fetch";
import { authorised, lost } from "./auth";
import { early } from "./first";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];

/** The server's answer when it refuses: a code for programs, words for people. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly en: string,
    readonly zh: string,
    readonly details: Detail[],
  ) {
    super(en);
  }
}

export interface Detail {
  key?: string;
  value?: unknown;
  line?: number | null;
  message_en: string;
  message_zh: string;
}

const gate: Middleware = {
  onRequest({ request }) {
    authorised(request.headers, request.method);
    return request;
  },
  async onResponse({ response }) {
    if (response.ok) return response;
    const refusal = await refusalOf(response);
    if (response.status === 401 && !response.url.endsWith("/session")) lost();
    throw refusal;
  },
};

// Not bound to window.fetch as it is now: tests and tools replace it.
export const api = createClient<paths>({ baseUrl: location.origin, fetch: async (request) => (await early(request)) ?? fetch(request) });
api.use(gate);

export async function refusalOf(response: Response): Promise<Refusal> {
  const body = (await response.json().catch(() => null)) as {
    error?: { code: string; message_en: string; message_zh: string; details: Detail[] };
  } | null;
  const error = body?.error;
  // Not from our server's own words: something in between, or a server that broke.
  const failed = response.status >= 500;
  const en = `${failed ? "The server failed" : "The request was refused"} (HTTP ${response.status})`;
  const zh = `${failed ? "服务器出错" : "请求被拒绝"}（HTTP ${response.status}）`;
  return new Refusal(
    response.status,
    error?.code ?? "http",
    error?.message_en ?? en,
    error?.message_zh ?? zh,
    error?.details ?? [],
  );
}

/** The answer itself; what went wrong is thrown. */
export async function got<T>(asked: Promise<{ data?: T }>): Promise<T> {
  return (await asked).data as T;
}
