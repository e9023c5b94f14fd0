/** How requests prove who asks. The session itself is a cookie that no script can read; what changes
 * something carries a token beside it, which other sites cannot know. */

let csrf: string | null = null;
let tellLost: () => void = () => {};

export function authorised(headers: Headers, method: string): void {
  if (csrf !== null && method !== "GET" && method !== "HEAD") headers.set("X-CSRF-Token", csrf);
}

export function hold(token: string | null): void {
  csrf = token;
}

/** Called when the server no longer knows who asks. */
export function lost(): void {
  tellLost();
}

export function onLost(tell: () => void): void {
  tellLost = tell;
}
