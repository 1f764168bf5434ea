import type { BrowserPage } from '@plinth/http'
import { branded } from './page-brand.ts'
import type { PageBuild } from './page-build.ts'
import { PageFiles } from './page-files.ts'
import { noncePlaceholder, type PagePlaces } from './page-source.ts'
import { waitingPage } from './waiting-page.ts'

/** How long a browser waits for pages that are being built before it is shown that they are. */
const patienceMs = 5_000

/**
 * @param name of the page among those that are built: `install`, `admin`
 */
export function builtPage(
  { output, former }: Pick<PagePlaces, 'output' | 'former'>,
  build: PageBuild,
  name: string,
): BrowserPage {
  let files: PageFiles | undefined
  const current = async () => {
    if (files === undefined && !build.isRunning) files = await PageFiles.read(output, former)
    return files
  }
  return {
    async html({ nonce, locale, siteTitle = '' }) {
      await build.settled(patienceMs)
      if (build.isRunning) return waitingPage({ nonce, locale, siteTitle })
      const page = (await current())?.html(name)?.replaceAll(noncePlaceholder, nonce)
      return page === undefined || siteTitle === '' ? page : branded(page, siteTitle)
    },
    async asset(path, encodings) {
      return (await current())?.asset(path, encodings)
    },
  }
}
