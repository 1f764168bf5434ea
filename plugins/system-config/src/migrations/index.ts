import { createSystemConfig } from './0001-create-system-config.ts'

export const changeSets = [createSystemConfig]
