import { throwsWith } from '@plinth/kernel/testing'
import t from 'tap'
import { selectedFiles } from '../../scripts/test-files.ts'

const all = [
  'kernel/test/a.test.ts',
  'plugins/money/test/b.test.ts',
  'plugins/money/test/lots/c.test.ts',
  'test/d.test.ts',
]
const changed = () => ['plugins/money/src/plugin.ts', 'docs/x.md']

t.test('selects files, folders, changed packages, or all', async (t) => {
  const cases: readonly (readonly [words: string[], files: string[]])[] = [
    [[], all],
    [['--jobs=1'], all],
    [['test/tools/check.test.ts'], ['test/tools/check.test.ts']],
    [['./plugins/money/'], ['plugins/money/test/b.test.ts', 'plugins/money/test/lots/c.test.ts']],
    [
      ['kernel', 'test'],
      ['kernel/test/a.test.ts', 'test/d.test.ts'],
    ],
    [['--changed'], ['plugins/money/test/b.test.ts', 'plugins/money/test/lots/c.test.ts']],
    [
      ['--changed', 'kernel'],
      ['kernel/test/a.test.ts', 'plugins/money/test/b.test.ts', 'plugins/money/test/lots/c.test.ts'],
    ],
  ]
  for (const [words, files] of cases) t.strictSame(selectedFiles(words, all, changed), files, words.join(' '))
  t.strictSame(
    selectedFiles(['--changed'], all, () => []),
    [],
  )
})

t.test('a word that names no test is an error, not an empty run', async (t) => {
  const message = 'No test file and no folder with test files: plugins/mony'
  throwsWith(t, () => selectedFiles(['plugins/mony'], all, changed), { message })
})
