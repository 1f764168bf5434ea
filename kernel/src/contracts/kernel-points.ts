import { auditTrail, healthCheck, manifestEntries, pluginData, startSummary, upgradeSteps } from './kernel.ts'
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
  upgradeSteps,
] as const
