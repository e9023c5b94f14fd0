import { useEffect, useState } from "react";

/** The time in milliseconds, moving on in steps. */
export function useNow(step = 30_000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), step);
    return () => clearInterval(timer);
  }, [step]);
  return now;
}
