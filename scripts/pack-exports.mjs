// npm runs this script before and after `npm pack` in a workspace. "on" changes the paths in package.json to the build,
// and "off" changes them back to the sources.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { manifestRules, withPaths } from './published-paths.ts'

const rules = { on: manifestRules.published, off: manifestRules.repository }[process.argv[2]]
if (rules === undefined) throw new Error('usage: pack-exports.mjs on|off')
const manifest = withPaths(readFileSync('package.json', 'utf8'), rules)
const { exports = {} } = JSON.parse(manifest)
const missing = process.argv[2] === 'on' && Object.values(exports).find((entry) => !existsSync(entry.default))
if (!missing) writeFileSync('package.json', manifest)
else {
  console.error(
    `${process.cwd()} is not built: ${missing.default} is missing. Run npm run build in the repository first.`,
  )
  process.exitCode = 1
}
