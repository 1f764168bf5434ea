import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isPlugin } from '@plinth/kernel/host'
import t from 'tap'
import { acmeSms } from './contract-examples.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

/** Interfaces that third parties implement, with their files. */
const contracts = {
  PluginDeclaration: 'plugin.ts',
  PermissionDeclaration: 'contracts/declarations.ts',
  InstallTask: 'contracts/declarations.ts',
  ScheduledTask: 'contracts/declarations.ts',
  CommandDeclaration: 'contracts/declarations.ts',
  NotificationChannel: 'contracts/notification-channel.ts',
  RateLimitStore: 'contracts/rate-limit-store.ts',
  QuickstartCleanup: 'contracts/quickstart-cleanup.ts',
}

/** Removes line breaks, blanks and trailing commas, because the formatter decides about them. */
const bare = (code: string) => code.replace(/\s+/g, '').replace(/,(?=[)\]}])/g, '')

/** Returns the members of an interface, each with the example of its doc comment. */
function examplesOf(source: string, name: string): Map<string, string | undefined> {
  const [, body = ''] = new RegExp(`export interface ${name}\\b[^\\n]*\\{\\n([\\s\\S]*?)\\n\\}`).exec(source) ?? []
  const members = body.matchAll(/(?: {2}\/\*\*([\s\S]*?)\*\/\n)?(?: {2}\/\/.*\n)?^ {2}(?:readonly )?(\w+)\??[:(<]/gm)
  return new Map(
    [...members].map(([, comment = '', member = '']) => {
      const [, example] = /@example ([\s\S]*)$/.exec(comment.replace(/^ *\* ?/gm, '')) ?? []
      return [member, example]
    }),
  )
}

t.test('C-002 every member of the contracts has an example, and it compiles', async (t) => {
  const compiled = bare(read('test/contract-examples.ts'))
  for (const [name, file] of Object.entries(contracts)) {
    const examples = examplesOf(read(`kernel/src/${file}`), name)
    t.ok(examples.size >= 3, `${name} was found`)
    for (const [member, example] of examples) {
      t.ok(example !== undefined && compiled.includes(bare(example)), `${name}.${member}: ${example ?? 'no example'}`)
    }
  }
  t.ok(isPlugin(acmeSms))
})
