/**
 * The generated files record what the product declares: routes with their schemas, permissions and limits, keys with
 * their rules and defaults, contributions such as the pages of the back office, commands, errors, tables and personal
 * data. If a declaration changes without them, either it is wrong or a reviewer must see the difference.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { programEnvironment, waitForProcessEnd } from '@plinth/kernel/testing'
import t from 'tap'

t.test('every generated file agrees with the sources', async (t) => {
  const child = spawn(process.execPath, ['scripts/generate.ts', '--check'], {
    cwd: join(import.meta.dirname, '..'),
    env: programEnvironment(),
  })
  t.match(await waitForProcessEnd(child), { code: 0, stdout: '' })
})
