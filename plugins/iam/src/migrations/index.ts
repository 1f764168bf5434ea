import { createIdentity } from './0001-create-identity.ts'
import { createSessions } from './0002-create-sessions.ts'
import { seedAuthority } from './0003-seed-authority.ts'
import { nameAuditTargets } from './0004-name-audit-targets.ts'
import { scopeAudits } from './0005-scope-audits.ts'
import { foldNamesMoreStrictly } from './0006-refold-names.ts'
import { indexEndTimes } from './0007-index-ends.ts'
import { indexSorts } from './0008-index-sorts.ts'
import { nameChangedUsers } from './0009-name-changed-users.ts'
import { indexFilters } from './0010-index-filters.ts'
import { storeAuditReasons } from './0011-keep-reasons.ts'
import { storeProofs } from './0012-store-proofs.ts'

export const changeSets = [
  createIdentity,
  createSessions,
  seedAuthority,
  nameAuditTargets,
  scopeAudits,
  foldNamesMoreStrictly,
  indexEndTimes,
  indexSorts,
  nameChangedUsers,
  indexFilters,
  storeAuditReasons,
  storeProofs,
]
