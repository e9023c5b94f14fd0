import { lazy, Suspense, useState } from "react";
import { useWords } from "../i18n";
import { Box } from "../ui/icons";
import type { Saved } from "./save";

const SaveSheet = lazy(() => import("./save"));

export function SaveButton({ of }: { of: Saved }) {
  const words = useWords().job;
  const [open, setOpen] = useState(false);
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
