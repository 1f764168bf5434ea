/** Tests `plinth storage copy`. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rejectsWith } from '@plinth/dev/testing'
import { systemClock } from '@plinth/kernel'
import t from 'tap'
import { copyCommand } from '../src/copy-command.ts'
import { DirectoryDisk } from '../src/directory-disk.ts'
import { diskPlugin } from './fixtures/memory-disk.ts'
import { createTestDirectory, startStorage } from './fixtures/product.ts'

t.test('plinth storage copy copies what is missing, and replaces and deletes nothing', async (t) => {
  const root = createTestDirectory(t)
  const plugins = [diskPlugin('other', new DirectoryDisk(join(root, 'other'), 'private', systemClock))]
  const progress: string[] = []
  const copy = async (driver: string, more: Readonly<Record<string, string>> = {}) => {
    const config = { 'platform.storage.disks.local.driver': driver, ...more }
    const { running } = await startStorage(t, { root, plugins, config })
    const result: { report?: unknown; text?: string } = {}
    const code = await copyCommand.run(running.runtimeOf('storage') as never, {
      args: [],
      options: {},
      output: {
        json: true,
        result: (report, text) => Object.assign(result, { report, text }),
        table: () => undefined,
        progress: (line) => progress.push(line),
      },
      signal: AbortSignal.timeout(60_000),
      examine: async () => [],
    })
    return { code, ...result }
  }

  const { storage: files } = await startStorage(t, { root, plugins })
  for (let index = 0; index < 120; index++) await files.put('local', `a/${index}.txt`, `content ${index}`)
  await files.put('local', 'ü b/c.bin', Buffer.alloc(300_000, 7))
  await files.put('public', 'p.txt', 'public')

  const resultOf = (copied: number, same: number, different: readonly string[]) => ({
    code: different.length === 0 ? 0 : 1,
    report: [{ disk: 'local', copied, same, different }],
    text: [
      `local: ${copied} copied, ${same} already there, ${different.length} different`,
      ...different.map((path) => `  different, not replaced: ${path}`),
    ].join('\n'),
  })
  const nothing = { code: 0, report: [], text: 'Both disks use the driver "directory". Nothing to copy.' }
  t.strictSame(await copy('directory'), nothing)
  t.strictSame(await copy('other'), resultOf(121, 0, []))
  t.equal(readFileSync(join(root, 'other/ü b/c.bin')).length, 300_000)
  t.ok(existsSync(join(root, 'local/a/0.txt')), 'the original stays')
  t.strictSame(await copy('other'), resultOf(0, 121, []))

  writeFileSync(join(root, 'other/a/7.txt'), 'newer')
  writeFileSync(join(root, 'local/a/new.txt'), 'new')
  t.strictSame(await copy('other'), resultOf(1, 120, ['a/7.txt']))
  t.equal(readFileSync(join(root, 'other/a/7.txt'), 'utf8'), 'newer', 'a file with another content is not replaced')

  await files.put('local', 'large.bin', Buffer.alloc(2_000))
  const limited = copy('other', { 'platform.storage.max-file-size': '1KiB' })
  await rejectsWith(t, limited, { reason: 'storage.file-too-large' })
  t.equal(progress.at(-1), 'local: large.bin cannot be copied')
})
