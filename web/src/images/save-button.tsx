import { lazy, Suspense, useState } from "react";
import { useWords } from "../i18n";
import { Box } from "../ui/icons";
import type { Saved } from "./save";

const SaveSheet = lazy(() => import("./save"));

/** `opened`: somebody comes from elsewhere to save it. */
export function SaveButton({ of, opened = false }: { of: Saved; opened?: boolean }) {
  const words = useWords().job;
  const [open, setOpen] = useState(opened);
  return (
    <>
      <button className="button" onClick={() => setOpen(true)}>
        <Box />
        {words.saveImage}
      </button>
      {open && (
        <Suspense fallback={null}>
          <SaveSheet of={of} close={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
