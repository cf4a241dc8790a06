// How the layers of a quantised model are trained: hexlane finetune.
#ifndef HEXLANE_FINETUNE_H_
#define HEXLANE_FINETUNE_H_

namespace hexlane {

struct FinetuneOptions {
  int epochs = 2;  // passes over the training windows
  // Of Adam, at the start: how far one step moves a weight, in integers. It falls to 0.
  double learning_rate = 0.005;
  int rank = 0;  // of what is added to each matrix; 0: every weight by itself
};

}  // namespace hexlane

#endif  // HEXLANE_FINETUNE_H_
