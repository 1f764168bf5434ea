import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'

const web = join(import.meta.dirname, '../web')

t.test('every write of the back office uses the hook that can cancel it', async (t) => {
  const users: string[] = []
  for await (const file of glob('**/*.{ts,tsx}', { cwd: web }))
    if (/\buseMutation\b/.test(await readFile(join(web, file), 'utf8'))) users.push(file)
  t.strictSame(users, ['admin/api/use-write.ts'])
})
