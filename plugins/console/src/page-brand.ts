const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A text as it stands in HTML, also between quotes. */
export const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => escapes[sign] ?? sign)

/** A built page under the name of the site: in its title, and where its scripts read it. */
export const branded = (page: string, siteTitle: string): string =>
  page
    .replace(/<title>[^<]*<\/title>/, () => `<title>${escaped(siteTitle)}</title>`)
    .replace(/(<meta name="application-name" content=")[^"]*"/, (_, start: string) => `${start}${escaped(siteTitle)}"`)
