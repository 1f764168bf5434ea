import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { SiteConfig } from 'vitepress'

/** Writes each page as Markdown beside its HTML file, `llms.txt` with a link to each, and the OpenAPI description. */
export async function writePlainPages({ pages, srcDir, outDir, rewrites, site }: SiteConfig): Promise<void> {
  const entries: string[] = []
  for (const page of pages.toSorted()) {
    const source = join(srcDir, page)
    const name = rewrites.map[page] ?? page
    await mkdir(dirname(join(outDir, name)), { recursive: true })
    await copyFile(source, join(outDir, name))
    const title = /^# (.+)$/m.exec(await readFile(source, 'utf8'))?.[1]
    if (title === undefined) throw new Error(`${page} has no heading of level 1`)
    entries.push(`- [${title}](${site.base}${name})`)
  }
  await copyFile(join(srcDir, 'openapi.json'), join(outDir, 'openapi.json'))
  const head = [`# ${site.title}`, '', `> ${site.description}`, '', '## Pages', '']
  await writeFile(join(outDir, 'llms.txt'), `${[...head, ...entries].join('\n')}\n`)
}
