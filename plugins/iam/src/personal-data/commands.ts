import { open } from 'node:fs/promises'
import type { database } from '@plinth/database'
import type { CommandDeclaration, CommandInvocation } from '@plinth/kernel'
import { englishText } from '../access/permission-catalogue.ts'
import { type PersonalRowCount, personalRecords } from '../contract.ts'
import { iamError } from '../declarations.ts'
import { assertMigrated } from '../migrations/assert-migrated.ts'

type Command = CommandDeclaration<{
  requires: { database: typeof database }
  provides: readonly [typeof personalRecords]
}>

const actor = { name: 'cli', clientIp: '', traceId: '', userAgent: '' }
const userArgument = { name: '<id>', description: 'the id of the user, also of a deleted one' }

const usage = (reason: string) => iamError('PLINTH_IAM_USERS_OPTIONS', { reason })

/** @throws PlinthError `PLINTH_IAM_USERS_OPTIONS` */
function idOf({ args }: CommandInvocation): number {
  const [text = ''] = args
  if (!/^[1-9]\d{0,15}$/.test(text) || !Number.isSafeInteger(Number(text)))
    throw usage(`"${text}" is not the id of a user`)
  return Number(text)
}

const exportUser: Command = {
  name: 'users export',
  summary: 'write all stored data of a user to a JSON file',
  arguments: [userArgument],
  options: [{ flags: '--file <file>', description: 'a new file; only its owner can read it' }],
  async run({ services, own }, invocation) {
    const { file } = invocation.options
    const userId = idOf(invocation)
    if (typeof file !== 'string') throw usage('The option --file is missing')
    await assertMigrated(services.database)
    const document = await own(personalRecords).export(userId, actor)
    const target = await open(file, 'wx', 0o600)
    try {
      for await (const text of document) {
        invocation.signal.throwIfAborted()
        await target.write(text)
      }
    } finally {
      await target.close()
    }
    invocation.output.result({ userId, file }, `Wrote the data of user ${userId} to ${file}.`)
  },
}

const eraseUser: Command = {
  name: 'users erase',
  summary: 'remove or anonymise all stored data of a user, and the account',
  arguments: [userArgument],
  options: [
    { flags: '--dry-run', description: 'list the rows and what would happen to them; change nothing' },
    { flags: '--yes', description: 'erase' },
  ],
  async run({ services, own }, invocation) {
    const { output, signal, options } = invocation
    const isDone = options['yes'] === true
    const userId = idOf(invocation)
    if ((options['dryRun'] === true) === isDone) throw usage('Add either --dry-run or --yes')
    await assertMigrated(services.database)
    const records = own(personalRecords)
    const tables = isDone ? await records.erase(userId, { actor, signal }) : await records.summary(userId, actor)
    const next = isDone
      ? `Erased user ${userId}.`
      : `Nothing was changed. To erase, export the data first if it is needed, then run "plinth users erase ${userId} --yes".`
    output.table({ userId, erased: isDone, tables: tables.map(lineOf) }, cellsOf(tables, isDone), `\n${next}`)
  },
}

export const personalCommands: readonly Command[] = [exportUser, eraseUser]

const lineOf = ({ title, reason, ...line }: PersonalRowCount) => ({
  ...line,
  title: englishText(title),
  reason: reason && englishText(reason),
})

function cellsOf(tables: readonly PersonalRowCount[], isDone: boolean): string[][] {
  const actions = isDone
    ? { removed: 'removed', anonymised: 'anonymised', kept: 'kept' }
    : { removed: 'would be removed', anonymised: 'would be anonymised', kept: 'kept' }
  const found = tables.filter(({ rows }) => rows > 0)
  const cells = found.map(({ table, title, rows, erasure, reason = '' }) => {
    return [table, englishText(title), String(rows), actions[erasure], englishText(reason)]
  })
  return [['TABLE', 'CONTENT', 'ROWS', 'ACTION', 'REASON'], ...cells]
}
