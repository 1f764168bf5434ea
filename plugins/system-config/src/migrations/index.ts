import { createSystemConfig } from './0001-create-system-config.ts'
import { markState } from './0002-mark-state.ts'
import { nameActingUser } from './0003-name-acting-user.ts'
import { indexActors } from './0004-index-actors.ts'

export const changeSets = [createSystemConfig, markState, nameActingUser, indexActors]
