export interface Message {
  event: string;
  data: string;
  id: string | null;
}

/** Server-sent events of an answer's body, as many as came together; beats included (as an event without a name). */
export async function* messages(body: ReadableStream<Uint8Array>): AsyncGenerator<Message[]> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let text = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      text += value;
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      if (blocks.length > 0) yield blocks.map(parsed);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function parsed(block: string): Message {
  const message: Message = { event: "", data: "", id: null };
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const value = line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    const key = line.slice(0, colon);
    if (key === "event") message.event = value;
    else if (key === "id") message.id = value;
    else if (key === "data") message.data = message.data ? `${message.data}\n${value}` : value;
  }
  return message;
}
