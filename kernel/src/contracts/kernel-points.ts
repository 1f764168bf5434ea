import { auditTrail, healthCheck, manifestEntries, pluginData, startSummary } from './kernel.ts'
import { personalData } from './personal-data.ts'
import { quickstartCleanup } from './quickstart-cleanup.ts'

/** The extension points that the kernel owns. */
export const kernelPoints = [
  auditTrail,
  healthCheck,
  manifestEntries,
  personalData,
  pluginData,
  quickstartCleanup,
  startSummary,
] as const
