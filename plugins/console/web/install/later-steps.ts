/** What nobody needs before the first view: loaded beside it, in one piece. */
import '../field/styles.css'

export { Gate } from './gate.tsx'
export { Installation } from './installation.ts'
export { ConfigurationStep } from './steps/configuration-step.tsx'
export { DoneStep } from './steps/done-step.tsx'
export { ProcessStep } from './steps/process-step.tsx'
