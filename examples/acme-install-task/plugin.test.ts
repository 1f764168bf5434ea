import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineProduct, kernel } from '@plinth/kernel'
import { installTaskCases } from '@plinth/kernel/conformance'
import { startForTest } from '@plinth/kernel/testing'
import t from 'tap'
import acmeUploads from './plugin.ts'

async function createWorld() {
  const directory = await mkdtemp(join(tmpdir(), 'acme-uploads-'))
  const product = await startForTest(defineProduct({ name: 'acme', plugins: [acmeUploads] }), {
    set: { 'platform.acme.uploads.directory': directory },
  })
  const task = product.service(kernel).installTasks.find(({ code }) => code === 'acme-uploads')
  if (task === undefined) throw new Error('the plugin declared no task')
  return {
    task,
    async snapshot() {
      const entries = await readdir(directory, { recursive: true, withFileTypes: true })
      const described = entries.map(async (entry) => {
        const path = join(entry.parentPath, entry.name)
        return [path.slice(directory.length), entry.isFile() ? await readFile(path, 'utf8') : 'folder'] as const
      })
      return Object.fromEntries((await Promise.all(described)).sort())
    },
    async stop() {
      await product.stop('test ended')
      await rm(directory, { recursive: true })
    },
  }
}

for (const { name, run } of installTaskCases(createWorld)) t.test(`ACME uploads: ${name}`, run)
