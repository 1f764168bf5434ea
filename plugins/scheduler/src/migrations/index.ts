import { createScheduler } from './0001-create-scheduler.ts'
import { indexOutcomes } from './0002-index-outcomes.ts'

export const changeSets = [createScheduler, indexOutcomes]
