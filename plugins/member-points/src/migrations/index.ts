import { createMemberPoints } from './0001-create-member-points.ts'
import { seedRules } from './0002-seed-rules.ts'

export const changeSets = [createMemberPoints, seedRules]
