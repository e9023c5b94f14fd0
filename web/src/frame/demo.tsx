import { useQuery } from "@tanstack/react-query";
import { api, got } from "../api/client";
import { useWords } from "../i18n";

/** Over every page of a demo: nobody should take its numbers for real. */
export function DemoBar() {
  const words = useWords();
  const { data } = useQuery({
    queryKey: ["version"],
    queryFn: () => got(api.GET("/danlu/v1/version")),
    staleTime: Infinity,
  });
  if (data?.demo !== true) return null;
  return (
    <p className="demo" role="note">
      <b>{words.demo.title}</b> {words.demo.note}
    </p>
  );
}
