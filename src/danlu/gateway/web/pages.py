"""Pages of the gateway itself: what went wrong, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from danlu.gateway.web.heads import Fields, written
from danlu.spec.text import Text

REASONS = {
    200: "OK",
    303: "See Other",
    307: "Temporary Redirect",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    413: "Content Too Large",
    414: "URI Too Long",
    421: "Misdirected Request",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    502: "Bad Gateway",
    503: "Service Unavailable",
}
_STYLE = (
    "body{font:16px/1.6 system-ui,sans-serif;max-width:38em;margin:15vh auto;padding:0 1.5em;"
    "color:#222;background:#fff}a{color:#0958d9}p{margin:.4em 0}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#141414}a{color:#69b1ff}}"
)
_LINK = Text("Go to Danlu", "前往丹炉")

NOT_SIGNED_IN = Text(
    "You are not signed in here. Open this page from Danlu, or with danlu open",
    "尚未登录。请从丹炉页面打开，或使用 danlu open",
)
NO_DOOR = Text(
    "Nothing is open here any more. Open the page from Danlu again",
    "这里已没有打开的页面。请从丹炉页面重新打开",
)
FOREIGN = Text(
    "A page of another site may not do this here",
    "其他网站的页面不能在此执行操作",
)
NO_WORKER = Text(
    "A service worker for the whole site is not allowed here",
    "此处不允许作用于整个站点的 service worker",
)
ONLY_TLS = Text("Use https here", "此处请使用 https")
TOO_MANY = Text(
    "You have too many connections open; close some pages", "打开的连接过多；请关闭一些页面"
)
CUT_OFF = Text("The program in the job ended the connection", "任务中的程序断开了连接")
BROKEN = Text(
    "The program in the job sent an answer that is not valid HTTP",
    "任务中的程序返回的不是合法的 HTTP 响应",
)


@dataclass(frozen=True, slots=True)
class Page:
    status: int
    text: Text
    link: str = ""  # to the platform
    again: bool = False  # worth trying by itself after a while


def rendered(page: Page, stays: bool, html: bool, body: bool = True) -> bytes:
    """A whole answer. `html`: for somebody who reads it in a browser."""
    kind = "text/html" if html else "text/plain"
    content = (_html(page) if html else f"{page.text.en}\n{page.text.zh}\n").encode()
    fields: Fields = [
        (b"content-type", f"{kind}; charset=utf-8".encode()),
        (b"content-length", str(len(content)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (
            b"content-security-policy",
            b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'",
        ),
    ]
    head = answer(page.status, fields, stays)
    return head + content if body else head


def answer(status: int, fields: Fields, stays: bool) -> bytes:
    fields = [*fields, (b"connection", b"keep-alive" if stays else b"close")]
    return written(f"HTTP/1.1 {status} {REASONS.get(status, '')}", fields)


def _html(page: Page) -> str:
    link = ""
    if page.link:
        words = f"{escape(_LINK.en)} / {escape(_LINK.zh)}"
        link = f'<p><a href="{escape(page.link)}">{words}</a></p>'
    again = '<meta http-equiv="refresh" content="3">' if page.again else ""
    return (
        '<!doctype html><html><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Danlu</title>{again}<style>{_STYLE}</style></head><body>"
        f'<p lang="en">{escape(page.text.en)}.</p><p lang="zh">{escape(page.text.zh)}。</p>'
        f"{link}</body></html>\n"
    )
