/** What nobody needs before the first view: loaded beside it, in one piece. */
import '../field/styles.css'

export { ConfigurationStep } from './configuration-step.tsx'
export { DoneStep } from './done-step.tsx'
export { Gate } from './gate.tsx'
export { Installation } from './installation.ts'
export { ProcessStep } from './process-step.tsx'
