import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installTaskCases } from '@plinth/dev/conformance'
import { startForTest } from '@plinth/dev/testing'
import { defineProduct } from '@plinth/kernel'
import { declaredTasks } from '@plinth/kernel/host'
import t from 'tap'
import acmeUploads from './plugin.ts'

async function createWorld() {
  const directory = await mkdtemp(join(tmpdir(), 'acme-uploads-'))
  const started: Awaited<ReturnType<typeof startForTest>>[] = []
  const restarted = async () => {
    const product = await startForTest(defineProduct({ name: 'acme', plugins: [acmeUploads] }), {
      set: { 'platform.acme.uploads.directory': directory },
    })
    started.push(product)
    const task = product.service(declaredTasks).installTasks.find(({ code }) => code === 'acme-uploads')
    if (task === undefined) throw new Error('the plugin declared no task')
    return task
  }
  return {
    directory,
    task: await restarted(),
    restarted,
    async snapshot() {
      const entries = await readdir(directory, { recursive: true, withFileTypes: true })
      const described = entries.map(async (entry) => {
        const path = join(entry.parentPath, entry.name)
        return [path.slice(directory.length), entry.isFile() ? await readFile(path, 'utf8') : 'folder'] as const
      })
      return Object.fromEntries((await Promise.all(described)).sort())
    },
    async stop() {
      for (const product of started) await product.stop('test ended')
      await rm(directory, { recursive: true })
    },
  }
}

const cases = installTaskCases(createWorld, {
  dependency: {
    // A file blocks the name of the folder that the task must create.
    fail: ({ directory }) => writeFile(join(directory, 'published'), ''),
    recover: ({ directory }) => rm(join(directory, 'published')),
  },
})
for (const { name, run } of cases) t.test(`ACME uploads: ${name}`, run)
