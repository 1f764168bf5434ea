/**
 * Program of `npm run stage`. Copies each published package with its build to `.build/packages`, where it can be packed and published.
 * The manifests of the copies have the paths of the build. This repository does not change, so tests can run at the same time.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { publicModules } from './api-compat.ts'
import { publishedPaths } from './published-paths.ts'

const root = process.cwd()
const packages = join(root, '.build/packages')
const notPublished = new Set(['node_modules', 'src', 'test', 'web', 'scripts'])

const browserPages = join(root, 'plugins/console/scripts/build-pages.ts')
if (existsSync(browserPages)) execFileSync(process.execPath, [browserPages], { stdio: 'inherit' })
rmSync(packages, { recursive: true, force: true })
const modules = publicModules(root)
for (const { name, folder } of modules) {
  const [from, to] = [join(root, folder), join(packages, folder)]
  const { scripts: _, ...manifest } = JSON.parse(publishedPaths(readFileSync(join(from, 'package.json'), 'utf8')))
  const entries: readonly { readonly default: string }[] = Object.values(manifest.exports ?? {})
  const missing = entries.find((entry) => !existsSync(join(from, entry.default)))
  if (missing !== undefined) {
    console.error(`${name} is not built: ${missing.default} is missing. Run npm run build first.`)
    process.exit(1)
  }
  cpSync(from, to, { recursive: true, filter: (path) => dirname(path) !== from || !notPublished.has(basename(path)) })
  writeFileSync(join(to, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
}
const workspaces = modules.map(({ folder }) => folder)
writeFileSync(join(packages, 'package.json'), JSON.stringify({ private: true, workspaces }))
