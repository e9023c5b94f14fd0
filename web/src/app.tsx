import { lazy, Suspense } from "react";
import { Route, Routes, useLocation } from "react-router";
import { useSession } from "./api/session";
import { Frame } from "./frame/frame";
import { ChangePassword, SignIn } from "./frame/sign-in";
import { useWords } from "./i18n";
import { MapPage } from "./map/page";
import { Guard } from "./ui/problem";

const AccountPage = lazy(() => import("./account/page"));
const AdminPage = lazy(() => import("./admin/page"));
const EnvironmentPage = lazy(() => import("./environments/one"));
const EnvironmentsPage = lazy(() => import("./environments/page"));
const NewEnvironmentPage = lazy(() => import("./environments/new"));
const DatasetsPage = lazy(() => import("./datasets/page"));
const DisksPage = lazy(() => import("./disks/page"));
const files = () => import("./files/page");
const FilesPage = lazy(files);
const ImagePage = lazy(() => import("./images/one"));
const ImagesPage = lazy(() => import("./images/page"));
const NewImagePage = lazy(() => import("./images/new"));
const GroupPage = lazy(() => import("./group/page"));
const JobPage = lazy(() => import("./job/page"));
const JobsPage = lazy(() => import("./jobs/page"));
const SubmitPage = lazy(() => import("./submit/page"));
const NotFound = lazy(() => import("./frame/not-found"));
const SignUp = lazy(() => import("./frame/sign-up"));

// Not only once it is known who is signed in.
if (location.pathname.startsWith("/files")) void files().catch(() => undefined);

export function App() {
  const { state, me } = useSession();
  const words = useWords();
  const { pathname } = useLocation();
  if (state === "asking") return null;
  if (state !== "in") {
    return (
      <Suspense fallback={null}>
        <Routes>
          <Route path="/sign-up" element={<SignUp />} />
          <Route path="*" element={<SignIn ended={state === "ended"} />} />
        </Routes>
      </Suspense>
    );
  }
  if (me === undefined) return null;
  if (me.must_change_password) return <ChangePassword />;
  return (
    <Frame>
      <Guard words={words.error} key={pathname.startsWith("/files") ? "/files" : pathname}>
        <Suspense fallback={null}>
          <Routes>
            <Route path="/" element={<MapPage />} />
            <Route path="/submit" element={<SubmitPage />} />
            <Route path="/jobs" element={<JobsPage />} />
            <Route path="/jobs/:ref" element={<JobPage />} />
            <Route path="/environments" element={<EnvironmentsPage />} />
            <Route path="/environments/new" element={<NewEnvironmentPage />} />
            <Route path="/environments/:name" element={<EnvironmentPage />} />
            <Route path="/files/*" element={<FilesPage />} />
            <Route path="/datasets/:name?" element={<DatasetsPage />} />
            <Route path="/images" element={<ImagesPage />} />
            <Route path="/images/new" element={<NewImagePage />} />
            <Route path="/images/:id" element={<ImagePage />} />
            <Route path="/disks" element={<DisksPage />} />
            <Route path="/group/:name?" element={<GroupPage />} />
            <Route path="/admin/:tab?" element={<AdminPage />} />
            <Route path="/account" element={<AccountPage />} />
            <Route path="*" element={<NotFound />} />
          </Routes>
        </Suspense>
      </Guard>
    </Frame>
  );
}
