/** Tests the budget of lines: a package grows only together with a line in `scripts/line-budget.json`. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../..')

function check(checkout: string) {
  const words = ['--disable-warning=ExperimentalWarning', 'scripts/measure-source.ts', checkout, '--budget']
  const { status, stderr } = spawnSync(process.execPath, words, { cwd: root, encoding: 'utf8' })
  return { status, problems: stderr.split('\n').filter((line) => line !== '') }
}

t.test('the sources have at most the lines of the budget', async (t) => {
  t.same(check(root), { status: 0, problems: [] })
})

t.test('more lines, unused lines and a missing package are reported', async (t) => {
  const checkout = t.testdir()
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(checkout, path)), { recursive: true })
    writeFileSync(join(checkout, path), text)
  }
  write('kernel/src/a.ts', 'export const a = 1\n\n// a comment\nexport const b = 2\n')
  write('dev/src/a.ts', 'export const a = 1\n')
  write('plugins/http/src/a.ts', 'export const a = 1\n')
  write('plugins/console/web/page.tsx', '/**\n * Text.\n */\nexport const page = <p>\n  text\n</p>\n')
  const budget = { kernel: 1, dev: 102, 'browser files': 3, 'all but dev': 3 }
  write('scripts/line-budget.json', JSON.stringify(budget))
  t.same(check(checkout), {
    status: 1,
    problems: [
      'dev: 1 lines, budget 102. Lower the budget.',
      'kernel: 2 lines, budget 1. Remove lines, or raise the budget.',
      'plugins/http: 1 lines, budget 0. Remove lines, or raise the budget.',
    ],
  })
})
