/**
 * What is looked at before a release.
 *
 * `npm run audit` asks the registry for known weaknesses of the packages that a release brings along, and fails from the severity
 * "moderate" on. `npm run release -- api-compat --previous-version <version>`: lists the public modules and the commands that compare
 * them with their previous release (document 1, "Public library compatibility"). It writes nothing. With `--check` it
 * compares: a run-time export that is gone is a binary incompatibility and fails; a declaration that changed is a source
 * incompatibility and is reported for the maintainers to judge; a module without a previous release is new public API.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { compareModules, type Finding, publicModules, unpackPrevious } from './api-compat.ts'
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
    const modules = publicModules(options.root)
    if (options.check !== true) {
      for (const { name, folder } of modules) {
        console.log(`${name} (${folder})`)
        console.log(`  npm pack ${name}@${options.previousVersion}`)
        console.log(`  diff -ru --include='*.d.ts' package/dist ${folder}/dist`)
      }
      return
    }
    const unpacked = options.previous ?? (await unpackPrevious(options.root, modules, options.previousVersion))
    const findings = await compareModules(options.root, modules, unpacked)
    for (const { kind, module, detail } of findings) console.log(`${kind}: ${module}: ${detail}`)
    const broken = findings.filter(({ kind }: Finding) => kind === 'binary')
    console.log(`${modules.length} modules, ${broken.length} binary incompatibilities`)
    if (broken.length > 0) process.exitCode = 1
  })

program
  .command('audit')
  .summary('known weaknesses of the packages that a release brings along')
  .option('--report <file>', 'what `npm audit --json` said, instead of asking the registry')
  .action(({ report }: { report?: string }) => {
    const { lines, isBroken } = judgeReport(report === undefined ? fetchReport(root) : readFileSync(report, 'utf8'))
    for (const line of lines) console.log(line)
    if (isBroken) process.exitCode = 1
  })

await program.parseAsync()
