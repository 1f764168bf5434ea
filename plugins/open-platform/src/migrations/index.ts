import { createOpenPlatform } from './0001-create-open-platform.ts'

export const changeSets = [createOpenPlatform]
