export interface Message {
  event: string;
  data: string;
  id: string | null;
}

/** Server-sent events of an answer's body, as many as came together; beats included (as an event without a name). */
export async function* messages(body: ReadableStream<Uint8Array>): AsyncGenerator<Message[]> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let broken = false; // whether a line ended with the last piece: an empty one may follow
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const piece = decoder.decode(value, { stream: true });
      const ends = piece.includes("\n\n") || (broken && piece.startsWith("\n"));
      broken = piece === "" ? broken : piece.endsWith("\n");
      text += piece;
      // Looked through once a message is whole: a large one comes in many pieces.
      if (!ends) continue;
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      yield blocks.map(parsed);
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
