import { createScheduler } from './0001-create-scheduler.ts'

export const changeSets = [createScheduler]
