import { useMutation } from "@tanstack/react-query";
import { useEffect, type FormEvent } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { api, got } from "../api/client";
import { useMe } from "../api/session";
import { useWords } from "../i18n";
import { useImageWords } from "../i18n/images";
import { Field, Wrong } from "../ui/manage";
import { SectionTabs } from "../ui/section-tabs";
import { refPath } from "../ui/values";
import { useImages } from "./asks";
import "./images.css";

const list = (text: unknown) => String(text ?? "").split(/[\s]+/).filter(Boolean);

/** A base and packages; the build is a job, and its page shows the log. */
export default function NewImagePage() {
  const { name: site } = useWords();
  const { form: words } = useImageWords();
  const me = useMe();
  const navigate = useNavigate();
  const [address] = useSearchParams();
  const known = useImages();
  useEffect(() => {
    document.title = `${words.title} · ${site}`;
  }, [words, site]);
  const going = useMutation({
    mutationFn: (form: FormData) =>
      got(
        api.POST("/danlu/v1/images/build", {
          body: {
            name: String(form.get("name") ?? "").trim(),
            base: String(form.get("base") ?? "").trim(),
            apt: list(form.get("apt")),
            pip: list(form.get("pip")),
            conda: list(form.get("conda")),
            description: String(form.get("description") ?? ""),
          },
        }),
      ),
    onSuccess: (made) => void navigate(`/jobs/${refPath(made.job)}`),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    going.mutate(new FormData(event.currentTarget));
  };
  return (
    <>
      <SectionTabs />
      <div className="page-head"><h1>{words.title}</h1></div>
      <section className="card build-form">
        <form className="body stack" onSubmit={submit}>
          <p className="note">{words.lead}</p>
          <div className="form-row">
            <Field label={words.name} hint={words.nameHint(me.user.toLowerCase())}>
              <input className="input mono" name="name" required maxLength={255} defaultValue={`${me.user.toLowerCase()}/`} autoComplete="off" spellCheck={false} />
            </Field>
            <Field label={words.base} hint={words.baseHint}>
              <input className="input mono" name="base" required maxLength={255} list="known-images" defaultValue={address.get("base") ?? ""} autoComplete="off" spellCheck={false} />
            </Field>
          </div>
          <datalist id="known-images">{known.data?.map((image) => <option key={image.id} value={image.name} />)}</datalist>
          <div className="form-row">
            {(["apt", "pip", "conda"] as const).map((kind) => (
              <Field key={kind} label={words[kind]} hint={words.listHint}>
                <textarea className="input mono" name={kind} rows={5} maxLength={20_000} spellCheck={false} />
              </Field>
            ))}
          </div>
          <Field label={words.description}>
            <textarea className="input" name="description" rows={2} maxLength={2000} />
          </Field>
          <Wrong error={going.error} />
          <div className="row"><button className="button primary" disabled={going.isPending}>{words.do}</button></div>
        </form>
      </section>
    </>
  );
}
