import { useCallback, useState, type ReactNode } from "react";
import { TakenSheet, type Taken } from "./dialogs";

interface Question {
  names: string[];
  folder: string;
  answer: (choice: Taken | null) => void;
}

/** A question in the middle of something: what about names that are taken? */
export function useTaken(): [(names: string[], folder: string) => Promise<Taken | null>, ReactNode] {
  const [question, setQuestion] = useState<Question | null>(null);
  const ask = useCallback(
    (names: string[], folder: string) =>
      new Promise<Taken | null>((done) => {
        setQuestion({
          names,
          folder,
          answer: (choice) => {
            setQuestion(null);
            done(choice);
          },
        });
      }),
    [],
  );
  return [ask, question === null ? null : <TakenSheet key="taken" {...question} />];
}
