import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { Database, database } from '@plinth/database'
import type { CommandDeclaration, kernel } from '@plinth/kernel'
import { englishText, PermissionCatalogue } from './access/permission-catalogue.ts'
import { type Accounts, accounts, credentials, type personalRecords } from './contract.ts'
import { iamError } from './declarations.ts'
import { Role, RolePermission } from './entities.ts'
import { assertMigrated } from './migrations/assert-migrated.ts'
import { personalCommands } from './personal-data/commands.ts'

/** Maximum number of characters that are read from standard input; more than any allowed password has. */
const maxInputLength = 4096

interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly output: { write(text: string): unknown }
}

const ownTerminal: Terminal = { input: process.stdin, output: process.stderr }

/**
 * Reads a password from standard input up to the first line break, or asks for it twice on a terminal without showing
 * it. A password is never an argument, because other users of the host can read command lines.
 *
 * @throws PlinthError `PLINTH_IAM_PASSWORD_INPUT`
 */
export function readPassword(options: {
  readonly fromStandardInput: boolean
  readonly signal: AbortSignal
  /** Default: the terminal of the process. */
  readonly terminal?: Terminal
}): Promise<string> {
  const { fromStandardInput, signal, terminal = ownTerminal } = options
  return fromStandardInput ? readLine(terminal.input) : ask(terminal, signal)
}

async function readLine(input: Terminal['input']): Promise<string> {
  let text = ''
  for await (const chunk of input.setEncoding('utf8')) {
    text += chunk
    if (text.includes('\n') || text.length > maxInputLength) break
  }
  const [line = ''] = text.split(/\r?\n/, 1)
  if (line === '') throw iamError('PLINTH_IAM_PASSWORD_INPUT', { reason: 'Standard input contains no password' })
  return line
}

async function ask({ input, output }: Terminal, signal: AbortSignal): Promise<string> {
  if (!input.isTTY) {
    throw iamError('PLINTH_IAM_PASSWORD_INPUT', { reason: 'Without a terminal, no password can be entered' })
  }
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const prompt = createInterface({ input, output: silent, terminal: true, historySize: 0, signal })
  // If two lines are pasted together, `question()` would lose the second line.
  const lines = prompt[Symbol.asyncIterator]()
  const question = async (text: string) => {
    output.write(text)
    const line = await lines.next()
    output.write('\n')
    if (line.done) throw iamError('PLINTH_IAM_PASSWORD_INPUT', { reason: 'No password was entered' })
    return line.value
  }
  try {
    const password = await question('Password: ')
    if (password === '') throw iamError('PLINTH_IAM_PASSWORD_INPUT', { reason: 'No password was entered' })
    if ((await question('Repeat the password: ')) === password) return password
    throw iamError('PLINTH_IAM_PASSWORD_INPUT', { reason: 'The two passwords differ' })
  } finally {
    prompt.close()
  }
}

type Uses = {
  requires: { kernel: typeof kernel; database: typeof database }
  provides: readonly [typeof accounts, typeof credentials, typeof personalRecords]
}
type Command = CommandDeclaration<Uses>

const actor = { name: 'cli', clientIp: '', traceId: '', userAgent: '' }

const adminCreate: Command = {
  name: 'admin create',
  summary: 'create a user with the role super-admin',
  setsUp: 'needed',
  options: [
    { flags: '--username <name>', description: 'user name' },
    { flags: '--email <address>', description: 'e-mail address' },
    { flags: '--password-stdin', description: 'read the password from standard input instead of asking for it' },
  ],
  async run({ services, own }, { options, output, signal }) {
    const { username, email, passwordStdin } = options
    if (typeof username !== 'string') throw iamError('PLINTH_IAM_ADMIN_OPTIONS')
    await assertMigrated(services.database)
    const password = await readPassword({ fromStandardInput: passwordStdin === true, signal })
    const users: Accounts = own(accounts)
    await users.seed()
    const address = typeof email === 'string' ? { email } : {}
    const { id } = await users.createSuperAdministrator({ username, password, ...address }, actor)
    output.result({ id, username }, `Created administrator "${username}".`)
  },
}

const adminRecover: Command = {
  name: 'admin recover',
  summary:
    'set a new password for a user who can no longer sign in, remove the second factors, and end the sessions and API tokens of the user',
  // The plugins of second factors do not have to be set up before iam.
  setsUp: 'possible',
  options: [
    { flags: '--username <name>', description: 'user name' },
    { flags: '--password-stdin', description: 'read the password from standard input instead of asking for it' },
    {
      flags: '--drop-factor-rule',
      description: 'if no loaded plugin offers a second factor, no longer require one of the roles of the user',
    },
  ],
  async run({ services, own }, { options, output, signal }) {
    const { username, passwordStdin, dropFactorRule } = options
    if (typeof username !== 'string')
      throw iamError('PLINTH_IAM_RECOVER_OPTIONS', { reason: 'The option --username is missing' })
    await assertMigrated(services.database)
    const account = await own(accounts).findByUsername(username)
    if (account === undefined)
      throw iamError('PLINTH_IAM_RECOVER_OPTIONS', { reason: `There is no user "${username}"` })
    const recovery = own(credentials)
    const password = await readPassword({ fromStandardInput: passwordStdin === true, signal })
    const passwordHash = await recovery.hashPassword(account.id, password)
    const facts = await recovery.change(account.id, actor, async (locked) => {
      locked.setPassword(passwordHash)
      const secondFactors = await locked.resetSecondFactors()
      const endedSessions = await locked.endCredentials()
      const unmet = await locked.unmetFactorRules(dropFactorRule === true)
      const [droppedRules, unmetRules] = dropFactorRule === true ? [unmet, []] : [[], unmet]
      await locked.record('user.recover', { endedSessions, secondFactors, droppedRules })
      return { endedSessions, secondFactors, droppedRules, unmetRules }
    })
    const { secondFactors, droppedRules, unmetRules } = facts
    const { id, enabled } = account
    const note = enabled ? '' : ' The account is disabled: another administrator must enable it.'
    const factors = secondFactors.length === 0 ? '' : ` Removed second factors: ${secondFactors.join(', ')}.`
    const dropped =
      droppedRules.length === 0 ? '' : ` These roles no longer require a second factor: ${droppedRules.join(', ')}.`
    const unmet =
      unmetRules.length === 0
        ? ''
        : ` The user still cannot sign in: these roles require a second factor, and no loaded plugin offers one: ${unmetRules.join(', ')}. Add such a plugin, for example @plinth/authenticators, or run the command again with --drop-factor-rule.`
    output.result(
      { id, username, ...facts, enabled },
      `Set the password of "${username}".${factors}${dropped}${note}${unmet}`,
    )
  },
}

const permissions: Command = {
  name: 'permissions',
  summary: 'list all permissions of the loaded plugins and the roles that have them',
  setsUp: 'needed',
  async run({ services }, { output }) {
    const declared = new PermissionCatalogue(services.kernel.plugins).declared
    const holders = await rolesByPermission(services.database)
    const rows = declared.map(({ code, plugin, displayName }) => ({
      code,
      plugin,
      name: englishText(displayName),
      roles: holders?.get(code) ?? [],
    }))
    const cells = rows.map(({ code, plugin, name, roles }) => [code, plugin, name, roles.join(', ')])
    output.table(rows, [['PERMISSION', 'PLUGIN', 'NAME', 'ROLES'], ...cells])
  },
}

export const commands: readonly Command[] = [adminCreate, adminRecover, permissions, ...personalCommands]

/**
 * Returns the codes of the roles that have each permission. Returns `undefined` if the database is not migrated yet;
 * the command can list permissions anyway.
 */
async function rolesByPermission(db: Database): Promise<Map<string, string[]> | undefined> {
  const { pending } = await db.migrationStatus()
  if (pending.length > 0) return undefined
  const em = db.fork()
  const codes = new Map((await em.findAll(Role)).map(({ id, code }) => [id, code]))
  const holders = new Map<string, string[]>()
  for (const { roleId, permissionCode } of await em.findAll(RolePermission)) {
    const code = codes.get(roleId)
    if (code !== undefined) holders.set(permissionCode, [...(holders.get(permissionCode) ?? []), code])
  }
  return holders
}
