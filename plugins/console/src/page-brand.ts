import { htmlText } from '@plinth/http'

/** A built page under the name of the site: in its title, and where its scripts read it. */
export const branded = (page: string, siteTitle: string): string =>
  page
    .replace(/<title>[^<]*<\/title>/, () => `<title>${htmlText(siteTitle)}</title>`)
    .replace(/(<meta name="application-name" content=")[^"]*"/, (_, start: string) => `${start}${htmlText(siteTitle)}"`)
