/**
 * Checks before a release.
 *
 * `npm run audit` queries the registry for known vulnerabilities of the runtime dependencies. It fails from the
 * severity "moderate" on.
 *
 * `npm run --silent release -- api-compat --previous-version <version>` prints a shell script that compares each public
 * module with its previous release (document 1 of the specification, "Public library compatibility"). It writes
 * nothing. With `--check` it compares: an export, a member, a value of a list, a command or a package that is gone, or a
 * value of another kind, is a binary incompatibility and fails; a type that the compiler does not accept in place of the
 * earlier one, or another range in `engines`, is a source incompatibility and is reported for the maintainers to judge; a
 * module without a previous release is new public API.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import {
  compareModules,
  comparisonScript,
  publicModules,
  publishedNames,
  ReleaseError,
  unpackPrevious,
} from './api-compat.ts'
import { fetchReport, judgeReport } from './audit.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const program = new Command('release')

program
  .command('api-compat')
  .summary('compare the public modules with a previous release; reads only')
  .requiredOption('--previous-version <version>', 'release to compare with')
  .option('--check', 'compare; without it the commands are only printed')
  .option('--previous <directory>', 'unpacked previous packages, instead of fetching them from the registry')
  .option('--root <directory>', 'repository', root)
  .action(async (options: { previousVersion: string; check?: boolean; previous?: string; root: string }) => {
    const { root, previousVersion } = options
    const modules = publicModules(root)
    if (options.check !== true) return console.log(comparisonScript(modules, previousVersion))
    const names = [...new Set([...publishedNames(root), ...modules.map(({ name }) => name)])]
    const previous = options.previous ?? (await unpackPrevious(root, names, previousVersion))
    const problems = await compareModules(root, modules, previous)
    for (const { kind, module, detail } of problems) console.log(`${kind}: ${module}: ${detail}`)
    const breaking = problems.filter(({ kind }) => kind === 'binary')
    console.log(`${modules.length} modules, ${breaking.length} binary incompatibilities`)
    if (breaking.length > 0) process.exitCode = 1
  })

program
  .command('audit')
  .summary('known vulnerabilities of the runtime dependencies')
  .option('--report <file>', 'what `npm audit --json` said, instead of asking the registry')
  .action(({ report }: { report?: string }) => {
    const { lines, isBroken } = judgeReport(report === undefined ? fetchReport(root) : readFileSync(report, 'utf8'))
    for (const line of lines) console.log(line)
    if (isBroken) process.exitCode = 1
  })

try {
  await program.parseAsync()
} catch (error) {
  if (!(error instanceof ReleaseError)) throw error
  console.error(error.message)
  process.exitCode = 2
}
