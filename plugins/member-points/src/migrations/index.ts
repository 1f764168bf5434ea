import { createMemberPoints } from './0001-create-member-points.ts'
import { seedRules } from './0002-seed-rules.ts'
import { countDays } from './0003-count-days.ts'
import { indexDays } from './0004-index-days.ts'
import { claimSources } from './0005-claim-sources.ts'

export const changeSets = [createMemberPoints, seedRules, countDays, indexDays, claimSources]
