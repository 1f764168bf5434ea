/**
 * Types of the requests and responses of the install operations. A newer server may send more values of an enum than its
 * type, so every reader has a fallback.
 */
import type { DataOf } from '@plinth/client'
import { knownValueOr } from '../app/answer.ts'

export type InstallStatus = DataOf<'getInstallStatus'>
export type EntryCheck = DataOf<'postInstallTokenVerify'>
export type CheckResult = DataOf<'postInstallPreflight'>
export type Check = CheckResult['checks'][number]
export type PlanResult = DataOf<'postInstallConfigPlan'>
export type PlanEntry = PlanResult['entries'][number]
export type Step = DataOf<'getInstallSteps'>['steps'][number]
export type ExecuteResult = DataOf<'postInstallExecute'>
export type ExecutionRecord = ExecuteResult['records'][number]
export type FormSchema = DataOf<'getInstallConfigSchema'>
export type FieldDefinition = FormSchema['groups'][number]['fields'][number]
export type Condition = NonNullable<FieldDefinition['hints']['visibleWhen']>

export const outcomes = ['passed', 'warning', 'failed'] as const
export type Outcome = (typeof outcomes)[number]

/**
 * Returns an outcome. An unknown outcome is treated as a warning. It blocks nothing, because the member `passed`
 * decides.
 */
export const outcomeOf = (status: string): Outcome => knownValueOr(outcomes, status, 'warning')

export type DefaultValue = string | number | boolean | null
/** Current values by group and field. Other members of a group contain additional data about the group. */
export type FormDefaults = Readonly<Record<string, Readonly<Record<string, DefaultValue>>>>

/** The configuration form as it is sent to the server. */
export type InstallForm = Readonly<Record<string, Readonly<Record<string, DefaultValue>>>>
