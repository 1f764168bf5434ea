import { type Accounts, type CallOrigin, superAdminRole } from '@plinth/iam'
import { isBusinessError } from '@plinth/kernel'
import { StepFailure } from '../declarations.ts'
import type { Caller } from '../entry/caller.ts'
import type { AdministratorForm } from '../form/fields.ts'
import type { InstallServices } from '../requires.ts'
import { publicReason } from '../texts.ts'

export interface CreatedAdministrator {
  readonly created: boolean
  readonly userId: number | null
  readonly username: string
}

/** The actor while no user exists. */
const installer = ({ clientIp, traceId, userAgent }: Caller): CallOrigin & { readonly name: string } => ({
  clientIp,
  traceId,
  userAgent,
  name: 'install',
})

/** Creates the first super administrator, unless a user exists. */
export class AdministratorCreation {
  readonly #accounts: Accounts

  constructor({ accounts }: { readonly accounts: Accounts }) {
    this.#accounts = accounts
  }

  exists(): Promise<boolean> {
    return this.#accounts.hasUsers()
  }

  /** @throws StepFailure if the name, an address or the password is rejected */
  async create(form: AdministratorForm, caller: Caller): Promise<CreatedAdministrator> {
    const accounts = this.#accounts
    if (await accounts.hasUsers()) return this.#existing(caller)
    const { username = '', email = '', mobile = '', password = '', confirmPassword } = form
    if (confirmPassword !== undefined && confirmPassword !== password) {
      throw new StepFailure('check.password-mismatch')
    }
    try {
      const user = { username, email: email || null, mobile: mobile || null, password }
      const { created, account } = await accounts.createAdministrator(user, installer(caller))
      return created && account !== undefined
        ? { created, userId: account.id, username: account.username }
        : await this.#existing(caller)
    } catch (error) {
      if (!isBusinessError(error)) throw error
      throw new StepFailure('failure.administrator', { reason: error.message }, error)
    }
  }

  /**
   * Hides the user name from a remote caller without an install token, because the user name is half of the
   * credentials.
   */
  async #existing({ isProven }: Caller): Promise<CreatedAdministrator> {
    const [first] = isProven ? await this.#accounts.findByRole(superAdminRole) : []
    return { created: false, userId: first?.id ?? null, username: first?.username ?? '' }
  }
}

type MigrationDependencies = Pick<InstallServices, 'database' | 'redact'>

/** Migrates the database that the product uses, and no other database (requirement I-148). */
export class Migration {
  readonly #parts: MigrationDependencies

  constructor(parts: MigrationDependencies) {
    this.#parts = parts
  }

  async isPending(): Promise<boolean> {
    const { pending, tableExists } = await this.#parts.database.migrationStatus()
    return !tableExists || pending.length > 0
  }

  /** @throws StepFailure with masked secrets */
  async run(signal: AbortSignal): Promise<{ readonly pendingBefore: number; readonly applied: number }> {
    try {
      const { pendingBefore, applied } = await this.#parts.database.migrate({ signal })
      return { pendingBefore, applied: applied.length }
    } catch (error) {
      const reason = this.#parts.redact(publicReason(error))
      throw new StepFailure('failure.migration', { reason }, error)
    }
  }
}
