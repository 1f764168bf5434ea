/** Code that the first view does not need. It is one file that is loaded in parallel. */
import '../field/styles.css'

export { Gate } from './gate.tsx'
export { Installation } from './installation.ts'
export { ConfigurationStep } from './steps/configuration-step.tsx'
export { DoneStep } from './steps/done-step.tsx'
export { ProcessStep } from './steps/process-step.tsx'
