import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter } from "react-router";
import { Refusal } from "./api/client";
import { SessionProvider } from "./api/session";
import { App } from "./app";
import "./tokens.css";
import "./base.css";
import { LanguageProvider } from "./i18n";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // A refusal stays one; only what could not be reached is asked again.
      retry: (count, error) => !(error instanceof Refusal && error.status < 500) && count < 3,
      staleTime: 5_000,
      refetchOnWindowFocus: false,
    },
  },
});

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <LanguageProvider>
      <QueryClientProvider client={queries}>
        <BrowserRouter>
          <SessionProvider>
            <App />
          </SessionProvider>
        </BrowserRouter>
      </QueryClientProvider>
    </LanguageProvider>
  </StrictMode>,
);
