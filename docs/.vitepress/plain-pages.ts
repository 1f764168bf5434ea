import { globSync } from 'node:fs'
import { copyFile, cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { SiteConfig } from 'vitepress'
import { withLinksOfSite } from './links.ts'

/**
 * Writes each page as Markdown beside its HTML file with the pictures of the pages, `llms.txt` with a link to each page,
 * and the OpenAPI description.
 */
export async function writePlainPages({ pages, srcDir, outDir, rewrites, site }: SiteConfig): Promise<void> {
  const entries: string[] = []
  for (const page of pages.toSorted()) {
    const source = join(srcDir, page)
    const name = rewrites.map[page] ?? page
    await mkdir(dirname(join(outDir, name)), { recursive: true })
    const text = await readFile(source, 'utf8')
    await writeFile(join(outDir, name), withLinksOfSite(text, source))
    const title = /^# (.+)$/m.exec(text)?.[1]
    if (title === undefined) throw new Error(`${page} has no heading of level 1`)
    entries.push(`- [${title}](${site.base}${name})`)
  }
  const skills = await copySkills(join(srcDir, '..'), outDir)
  await copyFile(join(srcDir, 'openapi.json'), join(outDir, 'openapi.json'))
  await cp(join(srcDir, 'console'), join(outDir, 'console'), { recursive: true })
  const head = [`# ${site.title}`, '', `> ${site.description}`, '', '## Pages', '']
  await writeFile(
    join(outDir, 'llms.txt'),
    `${[...head, ...entries, '', '## Skills of the packages', '', ...skills].join('\n')}\n`,
  )
}

/** Copies the instructions for coding assistants in the packages. Returns a link to each. */
async function copySkills(root: string, outDir: string): Promise<readonly string[]> {
  const links: string[] = []
  for (const file of globSync('dev/skills/*/SKILL.md', { cwd: root }).sort()) {
    const name = basename(dirname(file))
    const target = join('skills', name, 'SKILL.md')
    await mkdir(dirname(join(outDir, target)), { recursive: true })
    await copyFile(join(root, file), join(outDir, target))
    const title = /^# (.+)$/m.exec(await readFile(join(root, file), 'utf8'))?.[1] ?? name
    links.push(`- [${title}](/skills/${name}/SKILL.md)`)
  }
  return links
}
