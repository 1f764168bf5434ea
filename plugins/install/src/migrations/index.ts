import { createInstall } from './0001-create-install.ts'

export const changeSets = [createInstall]
