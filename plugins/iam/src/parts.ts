import type { Database } from '@plinth/database'
import type { Events } from '@plinth/events'
import type { HttpServer } from '@plinth/http'
import {
  asClass,
  asFunction,
  type Clock,
  type ConfigView,
  type Kernel,
  type Logger,
  type Resolvers,
} from '@plinth/kernel'
import type { RateLimiter } from '@plinth/rate-limit'
import { PermissionEpoch } from './access/authority.ts'
import { PermissionCatalogue } from './access/permission-catalogue.ts'
import { RoleGrants, UserChangeGuard } from './access/role-grants.ts'
import { Roles } from './access/roles.ts'
import { AccountService } from './accounts/account-service.ts'
import { CredentialService } from './accounts/credentials.ts'
import { Users } from './accounts/users.ts'
import { ApiTokens } from './api-tokens/api-tokens.ts'
import { AuditTrail } from './audit/audit.ts'
import type { keys } from './config.ts'
import type { LoginGuard, RenameGuard } from './contract.ts'
import { PasswordHasher } from './passwords/password-hash.ts'
import { PasswordPolicy } from './passwords/password-policy.ts'
import { PersonalRecordService } from './personal-data/personal-records.ts'
import type { ProofMethod } from './proof/contract.ts'
import { FreshProofs } from './proof/fresh-proofs.ts'
import { IdentityService } from './sessions/identity-service.ts'
import { KnownDevices } from './sessions/known-devices.ts'
import { Login, loginLimiter } from './sessions/login.ts'
import { PendingSignIns } from './sessions/pending-sign-ins.ts'
import { SecondFactors } from './sessions/second-factors.ts'
import { Sessions } from './sessions/sessions.ts'
import { TokenCheck } from './sessions/token-check.ts'

interface IamServices {
  readonly db: Database
  /** If absent, the deletion of a user is not published. */
  readonly events: Events | undefined
  readonly rateLimiter: RateLimiter | undefined
  readonly kernel: Kernel
  readonly plugins: Kernel['plugins']
  readonly networkOf: HttpServer['networkOf']
  readonly config: ConfigView<typeof keys>
  readonly clock: Clock
  readonly log: Logger
  /** Replaces configured secrets in a text. */
  readonly redact: (text: string) => string
  readonly loginGuards: ReadonlyMap<string, LoginGuard>
  readonly renameGuards: ReadonlyMap<string, RenameGuard>
  readonly proofMethods: ReadonlyMap<string, ProofMethod>
}

export interface Parts extends IamServices {
  readonly catalogue: PermissionCatalogue
  readonly passwords: PasswordPolicy
  readonly hasher: PasswordHasher
  readonly authority: PermissionEpoch
  readonly audit: AuditTrail
  readonly grants: RoleGrants
  readonly rules: UserChangeGuard
  readonly apiTokens: ApiTokens
  readonly proofs: FreshProofs
  readonly tokens: TokenCheck
  readonly sessions: Sessions
  readonly devices: KnownDevices
  readonly secondFactors: SecondFactors
  readonly pendingSignIns: PendingSignIns
  readonly users: Users
  readonly roles: Roles
  /** The login guard of this plugin, which is called before the guards of other plugins. */
  readonly limiter: LoginGuard | undefined
  readonly login: Login
  readonly accounts: AccountService
  readonly credentials: CredentialService
  readonly identity: IdentityService
  readonly personal: PersonalRecordService
}

export const resolvers: Resolvers<Parts, IamServices> = {
  catalogue: asFunction(({ plugins }) => new PermissionCatalogue(plugins)),
  passwords: asFunction(({ config }) => new PasswordPolicy(config)),
  hasher: asFunction(
    ({ config }) =>
      new PasswordHasher({
        memoryBytes: config.get('platform.iam.password.hash.memory'),
        passes: config.get('platform.iam.password.hash.passes'),
        concurrency: config.get('platform.iam.password.hash.concurrency'),
      }),
  ),
  authority: asFunction(({ db, clock }) => new PermissionEpoch(db, clock)),
  audit: asClass(AuditTrail),
  grants: asClass(RoleGrants),
  rules: asFunction(({ grants }) => new UserChangeGuard(grants)),
  apiTokens: asClass(ApiTokens),
  proofs: asClass(FreshProofs),
  tokens: asClass(TokenCheck),
  sessions: asClass(Sessions),
  devices: asClass(KnownDevices),
  secondFactors: asClass(SecondFactors),
  pendingSignIns: asClass(PendingSignIns),
  users: asClass(Users),
  roles: asClass(Roles),
  limiter: asFunction(({ rateLimiter, config }) => rateLimiter && loginLimiter(rateLimiter, config)),
  login: asClass(Login),
  accounts: asClass(AccountService),
  credentials: asClass(CredentialService),
  identity: asClass(IdentityService),
  personal: asClass(PersonalRecordService),
}
