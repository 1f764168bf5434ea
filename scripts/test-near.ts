/**
 * Program of `npm run test:near`: runs the tests of the packages that contain changed files, on SQLite. Changes are uncommitted changes,
 * and untracked files. Without such changes, the last commit counts. Names the proofs that the changes concern. With
 * `-- --grep=/title/`, runs only the tests whose title matches.
 */
import { dirname } from 'node:path'
import { changedPaths, concernedProofs, git } from './changed-paths.ts'
import { lastLine, readWords, runTests } from './count-tests.ts'
import { testFiles } from './test-files.ts'

const uncommitted = changedPaths('HEAD')
const changed =
  uncommitted.length > 0 ? uncommitted : changedPaths(git('rev-parse', 'HEAD^') === undefined ? 'HEAD' : 'HEAD^')
const packages = (git('ls-files', '*/package.json') ?? '').split('\n').map(dirname)
const changedPackages = packages.filter((folder) => changed.some((path) => path.startsWith(`${folder}/`)))
const files = testFiles().filter(
  (file) => changed.includes(file) || changedPackages.some((folder) => file.startsWith(`${folder}/`)),
)
if (files.length === 0) console.log('No package with tests has changed.')
else {
  console.log(`Changed packages: ${changedPackages.join(', ')}`)
  const concerned = concernedProofs(changed)
  if (concerned.length > 0) console.log(`Proofs that the changes concern: npm run proof -- ${concerned.join(' ')}`)
  const counts = await runTests(files, { grep: readWords().grep, env: { PLINTH_TEST_DATABASE: 'sqlite' } })
  console.log(lastLine(counts))
  process.exitCode = counts.failed === 0 ? 0 : 1
}
