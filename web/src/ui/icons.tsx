import type { ReactNode, SVGProps } from "react";

const line = (paths: ReactNode) =>
  function Icon(props: SVGProps<SVGSVGElement> & { size?: number }) {
    const { size = 16, ...rest } = props;
    return (
      <svg
        width={size}
        height={size}
        viewBox="0 0 16 16"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.6"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
        {...rest}
        style={{ flex: "none", ...rest.style }}
      >
        {paths}
      </svg>
    );
  };

export const Clock = line(<><circle cx="8" cy="8" r="6" /><path d="M8 4.8V8l2.2 1.6" /></>);
export const Down = line(<path d="M8 2.5v8M4.5 7.2 8 10.7l3.5-3.5M3 13.5h10" />);
export const Play = line(<path d="M5 3.2v9.6L12.5 8Z" />);
export const Tick = line(<path d="m3 8.5 3.3 3.2L13 4.5" />);
export const Cross = line(<path d="m4 4 8 8m0-8-8 8" />);
export const Square = line(<rect x="4" y="4" width="8" height="8" rx="1" />);
export const Ring = line(<circle cx="8" cy="8" r="4.5" />);
export const Bell = line(<path d="M3 11.5h10l-1.2-1.8V7A3.8 3.8 0 0 0 4.2 7v2.7L3 11.5Zm3.6 2h2.8" />);
export const Plus = line(<path d="M8 3v10M3 8h10" />);
export const Grid = line(<path d="M2.5 2.5h4.5v4.5h-4.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5h-4.5zM9 9h4.5v4.5H9z" />);
export const List = line(<path d="M3 4h10M3 8h10M3 12h10" />);
export const Person = line(<><circle cx="8" cy="5.5" r="2.7" /><path d="M3 13.5c.5-3 2.5-4.3 5-4.3s4.5 1.3 5 4.3" /></>);
export const Key = line(<><circle cx="5" cy="11" r="2.6" /><path d="m7 9 6-6M11 5l2 2M9 7l1.4 1.4" /></>);
export const People = line(<><circle cx="6" cy="5.5" r="2.4" /><path d="M1.5 13c.4-2.7 2.2-3.8 4.5-3.8s4.1 1.1 4.5 3.8M10.5 3.4a2.4 2.4 0 0 1 0 4.3M12 9.6c1.4.5 2.3 1.6 2.5 3.4" /></>);
export const Gear = line(<><circle cx="8" cy="8" r="2.2" /><path d="M8 1.8v2M8 12.2v2M1.8 8h2M12.2 8h2M3.6 3.6 5 5M11 11l1.4 1.4M3.6 12.4 5 11M11 5l1.4-1.4" /></>);
export const Warn = line(<path d="M8 2.2 14.5 13.5h-13ZM8 6.5v3.2M8 11.7v.1" />);
export const Search = line(<><circle cx="7" cy="7" r="4.2" /><path d="m10.3 10.3 3.2 3.2" /></>);
export const Screen = line(<path d="M2 3h12v8H2zM6 14h4M8 11v3" />);
export const Question = line(<path d="M5.5 6c0-3.5 5-3.3 5-.3C10.5 8 8 7.8 8 10M8 12.8v.1" />);
export const Sun = line(<><circle cx="8" cy="8" r="3" /><path d="M8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7" /></>);
export const Pause = line(<path d="M5.5 3.5v9M10.5 3.5v9" />);
export const Up = line(<path d="M8 13V4M4.5 7.2 8 3.7l3.5 3.5" />);
export const Right = line(<path d="m6 3.5 4.5 4.5L6 12.5" />);
export const Book = line(<path d="M3 3.2c2-.6 3.7-.4 5 .6 1.3-1 3-1.2 5-.6v9.3c-2-.6-3.7-.4-5 .6-1.3-1-3-1.2-5-.6zM8 3.8v9.3" />);
export const Code = line(<path d="M5 4 1.5 8 5 12M11 4l3.5 4L11 12M9.2 2.8 6.8 13.2" />);
export const Prompt = line(<path d="M2 2.5h12v11H2zM4.8 6l2 2-2 2M8.5 10.5h3" />);
export const Chart = line(<path d="M2.5 2.5v11h11M4.5 10.5l3-4 2.2 2.2 3.3-4.7" />);
export const Copy = line(<path d="M6 6h7.5v7.5H6zM10 3H2.5v7.5" />);
export const Folder = line(<path d="M1.8 4.2c0-.6.4-1 1-1h3.1l1.5 1.7h5.8c.6 0 1 .4 1 1v6c0 .6-.4 1-1 1H2.8c-.6 0-1-.4-1-1z" />);
export const Paper = line(<path d="M4 1.8h5.2L12.5 5v9.2H4zM9 1.8V5h3.5" />);
export const Lines = line(<path d="M4 1.8h5.2L12.5 5v9.2H4zM9 1.8V5h3.5M6 8h4.5M6 10.8h4.5" />);
export const Picture = line(<path d="M2 3h12v10H2zM2 11l3.5-3.5 3 3 2-2L14 12M10.5 6v.1" />);
export const Box = line(<path d="M2.5 5 8 2l5.5 3v6L8 14l-5.5-3zM2.5 5 8 8l5.5-3M8 8v6" />);
export const Chain = line(<path d="M6.5 9.5 9.5 6.500M7 4.500l1.200-1.200a2.700 2.700 0 0 1 3.800 3.800L10.800 8.300M5.200 7.700 4 8.900a2.700 2.700 0 0 0 3.800 3.800L9 11.500" />);
export const Bin = line(<path d="M2.8 4.300h10.400M6 4.300V2.500h4v1.800M4.200 4.300l.6 9.200h6.400l.6-9.200M6.700 7v4M9.300 7v4" />);
export const Send = line(<path d="M8 10.500v-8M4.500 5.800 8 2.300l3.500 3.500M3 13.500h10" />);
export const Dots = line(<path d="M3 8h.1M8 8h.1M13 8h.1" />);
export const Home = line(<path d="M2.500 7.500 8 2.500l5.500 5M4 6.500v7h8v-7" />);
export const Disk = line(<><ellipse cx="8" cy="4" rx="5.500" ry="2" /><path d="M2.500 4v8c0 1.100 2.500 2 5.500 2s5.500-.9 5.500-2V4M2.500 8c0 1.100 2.500 2 5.500 2s5.500-.9 5.500-2" /></>);
export const Back = line(<path d="M3 7h6.500a3.500 3.500 0 0 1 0 7H6M6 3.500 2.500 7 6 10.500" />);
export const Layers = line(<path d="M8 2 14 5 8 8 2 5zM2 8l6 3 6-3M2 11l6 3 6-3" />);

export function Logo({ size = 22 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" style={{ color: "var(--ember)", flex: "none" }}>
      <path
        fill="currentColor"
        d="M12 1.5c.4 2-1.9 2.9-1.9 4.9a1.9 1.9 0 0 0 3.8 0c0-1-.6-1.6-.6-2.5 1.6.8 2.2 2 2.2 3.4h-7c0-2.5 2.3-3.3 3.5-5.8ZM3 9h18v2.2h-1.7l-1 5.6H5.7l-1-5.6H3Zm4 9h10l1 4h-2.5l-.6-2.3H9.1L8.5 22H6Z"
      />
    </svg>
  );
}
